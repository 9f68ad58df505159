/** One call with everything that there is to know about it, read again when its row in the run becomes another. */
import { useEffect, useRef } from 'react'
import { useQuery } from '../../api/query.ts'
import { callQuery } from './call-documents.ts'
import type { CallRow } from './run-documents.ts'

/** `row` is the call as the run has it, once that is read; with `skip` nothing is read. */
export function useCall(id: string, row: CallRow | undefined, { skip = false } = {}) {
  const read = useQuery(callQuery, { id }, { eventTypes: ['UNKNOWN_CALL_RESOLVED'], skip })
  const { reload } = read
  const state = row && `${row.status} ${row.attempts.length} ${row.approval?.id} ${row.child?.status}`
  const before = useRef(state)
  useEffect(() => {
    if (!skip && before.current !== undefined && before.current !== state) reload()
    before.current = state
  }, [state, reload, skip])
  return read
}
