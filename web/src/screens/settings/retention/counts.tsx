/** Numbers of what goes and of what stays. */
import { numberText, t } from '../../../texts/texts.tsx'

const names: Record<string, string> = {
  runs: t('Runs'),
  calls: t('Calls'),
  threads: t('Threads'),
  events: t('Events'),
  files: t('Files'),
  deliveries: t('Deliveries'),
  auditEntries: t('Audit entries'),
  held: t('kept under a legal hold'),
  open: t('kept because something is open'),
  unknown: t('kept with an unknown call'),
  retried: t('kept for their retries'),
  inUse: t('kept for a thread in use'),
  recent: t('kept because part of them is recent'),
  keptCalls: t('calls outside runs, kept'),
}

export function Counts({ counts }: { counts: Record<string, number> }) {
  const shown = Object.entries(counts).filter(([, count]) => count > 0)
  if (shown.length === 0) return null
  return (
    <ul className="mute">
      {shown.map(([name, count]) => (
        <li key={name}>
          {names[name]}: {numberText(count)}
        </li>
      ))}
    </ul>
  )
}
