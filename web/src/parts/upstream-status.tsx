/** The status of an upstream as a shape and words. */
import { Badge } from './badge.tsx'

const looks: Record<string, { status: string; word: string }> = {
  CONNECTED: { status: 'SUCCEEDED', word: 'connected' },
  DEGRADED: { status: 'EXPIRED', word: 'does not answer, its tools are from before' },
  UNREACHABLE: { status: 'FAILED', word: 'does not answer' },
  AUTHORIZATION_REQUIRED: { status: 'PENDING', word: 'needs a sign-in' },
  PENDING: { status: 'QUEUED', word: 'not asked yet' },
}

export function UpstreamStatus({ status }: { status: string }) {
  const look = looks[status] ?? looks['PENDING']!
  return <Badge status={look.status} word={look.word} />
}
