/** What a run took: time and money. */
import { useNow } from '../../api/clock.ts'
import { durationText } from '../../parts/durations.ts'
import { moneyText } from '../../parts/money.ts'
import type { Run } from '../../parts/run/run-feed.ts'
import { t } from '../../texts/texts.tsx'

export const None = () => (
  <span className="mute">
    <span aria-hidden="true">–</span>
    <span className="sr-only">{t('none')}</span>
  </span>
)

/** How long the run took, or takes so far. */
export function Took({ run: { startedAt, finishedAt } }: { run: Pick<Run, 'startedAt' | 'finishedAt'> }) {
  if (!startedAt) return <None />
  if (!finishedAt) return <Running since={startedAt} />
  return durationText(Date.parse(finishedAt) - Date.parse(startedAt))
}

/** How long something has been going on. */
function Running({ since }: { since: string }) {
  return durationText(Math.max(0, Math.floor((useNow() - Date.parse(since)) / 1000) * 1000))
}

/** US dollars; null: a model has no price. */
export function Cost({ of }: { of: number | null }) {
  return of === null ? <span className="tone-warn">{t('unknown')}</span> : moneyText(of)
}
