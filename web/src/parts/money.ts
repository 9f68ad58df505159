/** Money in words. Pure. */

const dollars = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' })

/** US dollars; never nothing for something. */
export function moneyText(value: number): string {
  return value > 0 && value < 0.01 ? 'under $0.01' : dollars.format(value)
}
