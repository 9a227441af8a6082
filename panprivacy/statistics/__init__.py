"""The statistics of a recipe, by what carries their data, and the servers that compute them."""
