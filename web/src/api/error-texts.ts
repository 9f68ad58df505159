/** Loaded by error-text.ts when they are needed: what the stable codes of the server's errors say in another language than English, which is the one of its messages. */
import { t } from '../texts/texts.tsx'

export const texts: Readonly<Record<string, string>> = {
  FORBIDDEN: t('You may not do this.'),
  NOT_FOUND: t('This does not exist, or not any more.'),
  INVALID: t('Something here needs another value.'),
  VALIDATION: t('Something here needs another value.'),
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
