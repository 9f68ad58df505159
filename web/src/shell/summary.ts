/** How many approvals wait: shown beside the inbox, in the title and on the icon of the page. */
import { useEffect } from 'react'
import { graphql } from '../api/document.ts'
import { useQuery } from '../api/query.ts'

const countsQuery = graphql(`
  query Counts($projectId: ID) {
    approvalCounts(projectId: $projectId) {
      pending
    }
  }
`)

interface Badged {
  setAppBadge?(count: number): Promise<void>
  clearAppBadge?(): Promise<void>
}

/** The number of pending approvals; null while it is unknown. */
export function usePending(): number | null {
  const { data } = useQuery(countsQuery, {}, { hears: approvalTypes })
  const pending = data?.approvalCounts.pending ?? null
  useEffect(() => {
    const app = navigator as Badged
    if (pending) void app.setAppBadge?.(pending).catch(() => {})
    else void app.clearAppBadge?.().catch(() => {})
  }, [pending])
  return pending
}

export const approvalTypes = [
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
] as const

/** A count that fits on a badge. */
export const countText = (count: number): string => (count > 10_000 ? 'many' : count.toLocaleString('en'))
