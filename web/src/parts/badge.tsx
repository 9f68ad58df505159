/** A status as a shape and a word, so that no status is told by its colour alone. */
import { t } from '../texts/texts.tsx'
const looks: Record<string, { tone: string; shape: Shape; word: string }> = {
  QUEUED: { tone: 'queue', shape: 'ring', word: t('queued') },
  RUNNING: { tone: 'work', shape: 'half', word: t('running') },
  REQUIRES_ACTION: { tone: 'client', shape: 'diamond', word: t('waits for a client') },
  AWAITING_APPROVAL: { tone: 'human', shape: 'diamond', word: t('waits for approval') },
  AWAITING_CLIENT: { tone: 'client', shape: 'diamond', word: t('waits for a client') },
  COMPLETED: { tone: 'good', shape: 'check', word: t('completed') },
  SUCCEEDED: { tone: 'good', shape: 'check', word: t('succeeded') },
  APPROVED: { tone: 'good', shape: 'check', word: t('approved') },
  FAILED: { tone: 'bad', shape: 'cross', word: t('failed') },
  ERRORED: { tone: 'bad', shape: 'cross', word: t('failed') },
  REJECTED: { tone: 'bad', shape: 'cross', word: t('rejected') },
  CANCELLED: { tone: 'queue', shape: 'bar', word: t('cancelled') },
  EXPIRED: { tone: 'warn', shape: 'bar', word: t('expired') },
  VOIDED: { tone: 'queue', shape: 'bar', word: t('void') },
  PENDING: { tone: 'human', shape: 'diamond', word: t('waiting') },
  PROPOSED: { tone: 'queue', shape: 'ring', word: t('proposed') },
  EXECUTING: { tone: 'work', shape: 'half', word: t('running') },
  UNKNOWN: { tone: 'warn', shape: 'question', word: t('unknown') },
  INVALID: { tone: 'bad', shape: 'cross', word: t('invalid') },
  DENIED: { tone: 'bad', shape: 'cross', word: t('denied') },
  SKIPPED: { tone: 'queue', shape: 'bar', word: t('skipped') },
  TIMED_OUT: { tone: 'warn', shape: 'bar', word: t('timed out') },
}

const shapes = {
  ring: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z',
  half: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM8 8V3.5M8 8l3.5 2.6',
  diamond: 'M8 2.8 13.2 8 8 13.2 2.8 8Z',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  bar: 'M3.5 8h9',
  question: 'M5.6 6a2.4 2.4 0 1 1 3.4 2.2c-.7.3-1 .8-1 1.6M8 12.2v.3',
} as const
type Shape = keyof typeof shapes

export function Badge({ status, word }: { status: string; word?: string }) {
  const look = looks[status] ?? { tone: 'queue', shape: 'ring' as const, word: wordsOf(status) }
  return (
    <span className={`badge tone-${look.tone}`}>
      <svg className="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
        <path d={shapes[look.shape]} />
      </svg>
      {word ?? look.word}
    </span>
  )
}

/** Enum values that are shown beside statuses. */
const words: Record<string, string> = {
  ADMIN: t('admin'),
  APPROVER: t('approver'),
  CALLER: t('caller'),
  DEVELOPER: t('developer'),
  VIEWER: t('viewer'),
  ALLOWED: t('allowed'),
  DENIED: t('denied'),
  EXECUTED: t('executed'),
  COMPLETED: t('completed'),
  CANCELLED: t('cancelled'),
  APPROVED: t('approved'),
  REJECTED: t('rejected'),
  EXPIRED: t('expired'),
  VOIDED: t('voided'),
  SUCCEEDED: t('succeeded'),
  FAILED: t('failed'),
  GENERATION_ENDED: t('run ended'),
  TOOL_CHANGED: t('tool changed'),
  TOOL_DELETED: t('tool deleted'),
  WITHDRAWN: t('withdrawn'),
  GENERATION: t('run'),
  DIRECT: t('direct'),
  BRIDGE: t('bridge'),
  MAX_STEPS: t('max steps'),
  BUDGET: t('budget'),
  RUN_AGAIN: t('run again'),
}

/** An enum value as words: AWAITING_APPROVAL is awaiting approval. */
export const wordsOf = (value: string): string => words[value] ?? value.toLowerCase().replaceAll('_', ' ')
