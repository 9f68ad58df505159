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
  held: t('stay under a legal hold'),
  open: t('stay because something is open'),
  unknown: t('stay with an unknown call'),
  retried: t('stay for their retries'),
  inUse: t('stay for a thread that goes on'),
  recent: t('stay because something in them is young'),
  keptCalls: t('calls outside runs that stay'),
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
