/** What the codes of the server's errors mean, for languages other than that of its messages. `error-text.ts` loads it. */
import { graphql } from './document.ts'
import { t } from '../texts/texts.tsx'

type ErrorCode = ReturnType<typeof graphql.scalar<'ErrorCode'>>

/** A session that has ended opens the sign-in page, which says so. */
export const texts: Readonly<Record<Exclude<ErrorCode, 'UNAUTHENTICATED'>, string>> = {
  FORBIDDEN: t('You may not do this.'),
  NOT_FOUND: t('This does not exist, or not any more.'),
  INVALID: t('Something here needs another value.'),
  CONFLICT: t('This cannot be done as things are now. Look again, then try once more.'),
  NAME_TAKEN: t('Another one has this name already.'),
  IDEMPOTENCY_CONFLICT: t('This was sent before with other contents.'),
  GENERATION_TERMINAL: t('The run has ended already.'),
  APPROVAL_ALREADY_DECIDED: t('This request was decided before.'),
  APPROVAL_EXPIRED: t('This request has expired.'),
  BAD_CURSOR: t('This place in the list is not known.'),
  CURSOR_EXPIRED: t('These events are older than what is kept.'),
  LIMITED: t('A limit has been reached.'),
  RESPONSE_TOO_LARGE: t('The answer is too large.'),
  EXPIRED: t('The time for this is over.'),
  UPSTREAM: t('Another server did not do its part.'),
  UNAVAILABLE: t('The server cannot do this at the moment.'),
  INTERNAL: t('Something went wrong in the server.'),
}
