/** How often a device of a page or of the extension may write, and how often it does by default. */
export const TICK_SECONDS = { least: 1, most: 3600, usual: 30 };
