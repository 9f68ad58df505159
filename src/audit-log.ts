/**
 * Writes audit entries of this process to standard output, as API Activity of OCSF. An entry is written once its row is
 * committed: its id is known when its statement is built, and the row is read by it until it is there, or given up. Best
 * effort: a process that is killed leaves lines out, and the table is the truth.
 */
import { writeJson } from './core/json.ts'
import type { Log } from './core/log.ts'
import { committedEntries, onEntry, type AuditEntry } from './domain/audit/index.ts'
import type { Database } from './store/db/database.ts'

/** When a row is read, in milliseconds since its statement was built: some wait for a lock or a standby. */
const readsAfterMs = [200, 1000, 5000, 30_000, 120_000]
const everyMs = 200
/** Rows of one statement. */
const most = 1000
/** Ids that wait; further entries are left out. */
const mostWaiting = 100_000

interface Waiting {
  id: string
  at: number
  reads: number
}

export interface AuditLog {
  /** Reads what is left once more. */
  close(): Promise<void>
}

/** Starts to write a line for each entry; `write` gets it with its line break. */
export function startAuditLog(
  { db, log }: { db: Database; log: Log },
  write: (line: string) => void,
): AuditLog {
  let waiting: Waiting[] = []
  let left = 0
  let reading: Promise<void> = Promise.resolve()
  const forget = onEntry((id) => {
    if (waiting.length < mostWaiting) waiting.push({ id, at: performance.now(), reads: 0 })
    else left += 1
  })
  const read = async (isLast: boolean) => {
    const now = performance.now()
    const isDue = ({ at, reads }: Waiting) => isLast || now - at >= readsAfterMs[reads]!
    const due = waiting.filter(isDue).slice(0, isLast ? mostWaiting : most)
    for (let from = 0; from < due.length; from += most) {
      const part = due.slice(from, from + most)
      const found = await committedEntries(
        db,
        part.map(({ id }) => id),
      )
      for (const entry of found) write(`${writeJson(apiActivity(entry))}\n`)
      const done = new Set(found.map(({ id }) => id))
      for (const one of part) if (++one.reads === readsAfterMs.length) done.add(one.id)
      waiting = waiting.filter(({ id }) => !done.has(id))
    }
    if (left > 0) log.warn({ entries: left }, 'audit entries were left out of the output: read the table')
    left = 0
  }
  /** A database that is away is asked again: nothing was taken off the list. */
  const readSafely = (isLast: boolean) => (reading = reading.then(() => read(isLast)).catch(() => {}))
  const timer = setInterval(() => {
    if (waiting.length > 0) void readSafely(false)
  }, everyMs).unref()
  return {
    async close() {
      clearInterval(timer)
      forget()
      await readSafely(true)
    },
  }
}

/** Activities of OCSF by the verb of an action. */
const activities: readonly [verb: RegExp, id: number, name: string][] = [
  [/^(Create|Start|Upload|Invite)/, 1, 'Create'],
  [/^(Get|List|Read|Search)/, 2, 'Read'],
  [/^(Update|Set|Rotate|Extend)/, 3, 'Update'],
  [/^(Delete|Revoke|Remove)/, 4, 'Delete'],
]

/** An entry as API Activity (class 6003 of OCSF 1.3.0). */
export function apiActivity(entry: AuditEntry): object {
  const { id, projectId, principalId, action, resource, outcome, details, createdAt } = entry
  const verb = action.slice(action.indexOf(':') + 1)
  const [, activityId, activityName] = activities.find(([name]) => name.test(verb)) ?? [null, 99, verb]
  const [type = '', ...name] = resource.split('/')
  const address = details['remoteAddress']
  const denied = outcome === 'DENIED'
  return {
    class_uid: 6003,
    class_name: 'API Activity',
    category_uid: 6,
    category_name: 'Application Activity',
    activity_id: activityId,
    activity_name: activityName,
    type_uid: 600_300 + activityId,
    severity_id: denied ? 3 : 1,
    status_id: denied ? 2 : 1,
    time: createdAt.getTime(),
    metadata: {
      uid: id,
      version: '1.3.0',
      log_name: 'audit',
      product: { name: 'Gatehouse', vendor_name: 'Gatehouse' },
    },
    actor: { user: { uid: principalId } },
    api: { operation: action, service: { name: 'gatehouse' } },
    resources: [{ uid: name.join('/'), type }],
    src_endpoint: typeof address === 'string' ? { ip: address } : { name: 'unknown' },
    unmapped: { project_id: projectId, outcome, details },
  }
}
