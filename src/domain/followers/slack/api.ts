/** Calls of Slack's Web API over guarded egress. A failure is a value that says what follows from it. */
import { isJsonObject, type JsonObject, tryParseForeignJson, writeJson } from '../../../core/json.ts'
import type { Services } from '../../access/index.ts'
import type { SendGuard } from '../follower.ts'

const maxBytes = 256 * 1024
const timeoutMs = 10_000
const longestAskedMs = 60 * 60 * 1000
const defaultRetryMs = 30_000

/** Errors after which the token is of no use any more. */
const tokenFaults = new Set([
  'account_inactive',
  'invalid_auth',
  'not_authed',
  'org_login_required',
  'token_expired',
  'token_revoked',
])
/** Errors that a person must remove, in the workspace or in the integration. */
const channelFaults = new Set([
  'channel_not_found',
  'is_archived',
  'missing_scope',
  'no_permission',
  'not_in_channel',
  'restricted_action',
])
/** Errors that pass by themselves. */
const passingFaults = new Set([
  'fatal_error',
  'internal_error',
  'ratelimited',
  'request_timeout',
  'service_unavailable',
])

/**
 * `later`: try again, not before `askedMs` when that was asked. `token`, `channel`: useless until somebody changes the
 * integration. `never`: this request is refused for good. `withheld`: nothing was sent.
 */
export type SlackFailure = {
  ok: false
  kind: 'later' | 'token' | 'channel' | 'never' | 'withheld'
  error: string
  askedMs: number | null
}
export type SlackAnswer = { ok: true; body: JsonObject } | SlackFailure

/** Calls a method once, such as `chat.postMessage`; never throws. It is never sent twice by itself. */
export async function callSlack(
  { egress, limits }: Pick<Services, 'egress' | 'limits'>,
  token: string,
  method: string,
  args: JsonObject,
  guard: Partial<SendGuard> = {},
): Promise<SlackAnswer> {
  const response = await egress.request({
    method: 'POST',
    url: `${limits.slackApiUrl}/${method}`,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      authorization: `Bearer ${token}`,
      'user-agent': 'gatehouse',
    },
    body: writeJson(args),
    timeoutMs,
    maxBytes,
    maxRedirects: 0,
    // A token belongs to one workspace of one project.
    keptFor: token,
    ...guard,
  })
  if (!response.ok) {
    const { code } = response.error
    const isWithheld = code === 'WITHHELD' || code === 'ABORTED' || guard.signal?.aborted === true
    return failure(isWithheld ? 'withheld' : 'later', code.toLowerCase())
  }
  const { status, headers, bytes } = response
  if (status === 429) return failure('later', 'ratelimited', askedMsOf(headers.get('retry-after')))
  const body = tryParseForeignJson(bytes.toString('utf8'))
  if (status !== 200 || !isJsonObject(body)) return failure('later', `status_${status}`)
  if (body['ok'] === true) return { ok: true, body }
  const error = String(body['error'] ?? 'unknown_error')
    .replace(/\W/g, '')
    .slice(0, 80)
  return failure(kindOf(error), error)
}

function kindOf(error: string): SlackFailure['kind'] {
  if (tokenFaults.has(error)) return 'token'
  if (channelFaults.has(error)) return 'channel'
  return passingFaults.has(error) ? 'later' : 'never'
}

function failure(kind: SlackFailure['kind'], error: string, askedMs: number | null = null): SlackFailure {
  return { ok: false, kind, error, askedMs }
}

function askedMsOf(header: string | null): number {
  const seconds = Number(header ?? NaN)
  return Number.isFinite(seconds) && header !== null
    ? Math.min(Math.max(seconds * 1000, 1000), longestAskedMs)
    : defaultRetryMs
}
