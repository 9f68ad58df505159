/** Keys of a table whose rows are links: they move from row to row, and Enter opens as it does everywhere. */
import { useKeys } from './keys.ts'

const links = 'main table tbody tr :is(td, th):first-child a[href]'

/** `j`, `k` and the arrows lead through the first links of the rows on screen. */
export function useRowKeys(): void {
  const move = (by: 1 | -1) => {
    const all = [...document.querySelectorAll<HTMLAnchorElement>(links)]
    const at = all.findIndex((link) => link === document.activeElement)
    const next = at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[at + by]
    next?.focus()
    next?.closest('tr')?.scrollIntoView({ block: 'nearest' })
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => {
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    },
  })
}
