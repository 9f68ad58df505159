/** The status of an upstream as a shape and words. */
import { Badge } from './badge.tsx'
import { t } from '../texts/texts.tsx'

const looks: Record<string, { status: string; word: string }> = {
  CONNECTED: { status: 'SUCCEEDED', word: t('connected') },
  DEGRADED: { status: 'EXPIRED', word: t('does not answer, its tools are from before') },
  UNREACHABLE: { status: 'FAILED', word: t('does not answer') },
  AUTHORIZATION_REQUIRED: { status: 'PENDING', word: t('needs a sign-in') },
  PENDING: { status: 'QUEUED', word: t('not asked yet') },
}

export function UpstreamStatus({ status }: { status: string }) {
  const look = looks[status] ?? looks['PENDING']!
  return <Badge status={look.status} word={look.word} />
}
