/**
 * What every table holds of whom. Legal holds, the sweeps of retention and removals follow it; a table without its line fails the
 * structure test.
 */
import type { TableTraits, Whole } from './traits.ts'
import { traitsOfData } from './traits-of-data.ts'
import { traitsOfSettings } from './traits-of-settings.ts'

export const tableTraits: readonly TableTraits[] = [...traitsOfData, ...traitsOfSettings]

/** Tables whose rows go with a whole, and the column that has its id. */
export function partsOf(whole: Whole): { name: string; by: string; traits: TableTraits }[] {
  return tableTraits.flatMap((traits) => {
    const by = traits.with?.[whole]
    return by && by !== 'by hand' ? [{ name: traits.name, by, traits }] : []
  })
}
