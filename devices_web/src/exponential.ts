/** exp of a rational number in whole numbers, for coins and noise that leave no holes in a distribution. */

const GUARD = 128n;

/** A finite number as numerator and denominator, exactly; the denominator is a power of two. */
export function fraction(value: number): [bigint, bigint] {
  let denominator = 1n;
  let scaled = value;
  while (!Number.isInteger(scaled)) {
    scaled *= 2;
    denominator *= 2n;
  }
  return [BigInt(scaled), denominator];
}

/**
 * exp(numerator/denominator)·2^bits, at most 2^−100 of itself away and not rounded up.
 *
 * exp(x) = exp(x/2^h)^(2^h) with x/2^h at most 5/4 (Taylor's series).
 *
 * @param numerator at least 0; denominator above 0. The quotient is at most 320.
 */
export function exponential(numerator: bigint, denominator: bigint, bits: bigint): bigint {
  const halvings = 8n;
  const scale = bits + GUARD + halvings;
  const x = (numerator << scale) / (denominator << halvings);
  let term = 1n << scale;
  let sum = term;
  for (let n = 1n; term > 0n; n++) {
    term = ((term * x) >> scale) / n;
    sum += term;
  }
  for (let n = 0n; n < halvings; n++) {
    sum = (sum * sum) >> scale;
  }
  return sum >> (scale - bits);
}
