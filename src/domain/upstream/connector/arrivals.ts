/** The connectors that wait at this process for messages: however many they are, one statement reads for all of them. */
import { nowPlus, query } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { connectorKey, takenByMs } from './messages.ts'
import { watchOf } from './watch.ts'

/** Time between polls without a hint, in milliseconds: less than a message may wait. */
const pollMs = 500

/** True for a connector, named by `connectorKey`, that has messages to take. */
export const arrivalWatch = watchOf<true>((services) => ({
  signal: 'connector',
  hinted: true,
  everyMs: pollMs,
  async read() {
    const found = await query<{ projectId: string; name: string }>(
      services.db,
      sql`
        select distinct project_id as "projectId", connector as name
        from connector_messages
        where created_at > ${nowPlus(-takenByMs)}
          and taken_at is null
          and take_by > now()`,
    ).catch(() => null)
    return found && new Map(found.map((place) => [connectorKey(place), true]))
  },
}))
