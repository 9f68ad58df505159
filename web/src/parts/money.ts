/** Money in words. Pure. */
import { locale, t } from '../texts/texts.tsx'

const dollars = new Intl.NumberFormat(locale, {
  style: 'currency',
  currency: 'USD',
  currencyDisplay: 'narrowSymbol',
})

/** US dollars; never nothing for something. */
export function moneyText(value: number): string {
  return value > 0 && value < 0.01
    ? t('under {amount}', { amount: dollars.format(0.01) })
    : dollars.format(value)
}
