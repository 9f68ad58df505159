/** The effect of a gate in one sentence. Pure. */
import { t, plural } from '../../texts/texts.tsx'
interface Counts {
  replayed: number
  stopped: number
  newlyStopped: number
  newlyPassing: number
}

/** Stops 14 of 200 calls; 3 newly; 1 no longer. */
export function previewText({ replayed, stopped, newlyStopped, newlyPassing }: Counts): string {
  if (replayed === 0) return t('No calls are recorded yet, so there is nothing to compare with.')
  const parts = [
    plural(replayed, 'Stops {stopped} of 1 call', 'Stops {stopped} of {count} calls', { stopped }),
  ]
  if (newlyStopped > 0) parts.push(t('{count} newly', { count: newlyStopped }))
  if (newlyPassing > 0) parts.push(t('{count} no longer', { count: newlyPassing }))
  if (newlyStopped + newlyPassing === 0) parts.push(t('the same as now'))
  return `${parts.join('; ')}.`
}
