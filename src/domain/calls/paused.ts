/** Whether a pause holds a call outside any generation. */
import { query, type Database } from '../../store/db/database.ts'
import { pausesOf } from '../../store/work/pauses.ts'
import { targetsOf, type Pausable } from '../tool-calls/index.ts'

/** Whether a pause holds one of these now. */
export async function isPaused(db: Database, call: Pausable): Promise<boolean> {
  return (await query(db, pausesOf(targetsOf(call)))).length > 0
}
