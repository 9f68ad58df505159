/** How many approvals wait, and how many calls have an unknown outcome: shown beside the places that list them. */
import { useEffect } from 'react'
import { graphql } from '../api/document.ts'
import { useQuery } from '../api/query.ts'
import { numberText, t } from '../texts/texts.tsx'

const countsQuery = graphql(`
  query Counts($projectId: ID) {
    approvalTally(projectId: $projectId, filter: { statuses: [PENDING] }) {
      total {
        pending
      }
    }
  }
`)

interface Badged {
  setAppBadge?(count: number): Promise<void>
  clearAppBadge?(): Promise<void>
}

/** The number of pending approvals; null while it is unknown. */
export function usePending(): number | null {
  const { data } = useQuery(countsQuery, {}, { eventTypes: approvalTypes })
  const pending = data?.approvalTally.total.pending ?? null
  useEffect(() => {
    const app = navigator as Badged
    if (pending) void app.setAppBadge?.(pending).catch(() => {})
    else void app.clearAppBadge?.().catch(() => {})
  }, [pending])
  return pending
}

const unknownQuery = graphql(`
  query UnknownCount($projectId: ID) {
    projectSummary(projectId: $projectId) {
      unknownCalls
    }
  }
`)

/** The number of calls whose outcome only a person can find out; null while it is not known. */
export function useUnknown(): number | null {
  const { data } = useQuery(unknownQuery, {}, { eventTypes: ['TOOL_CALL_UNKNOWN', 'UNKNOWN_CALL_RESOLVED'] })
  return data?.projectSummary.unknownCalls ?? null
}

export const approvalTypes = [
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
] as const

/** A count that fits on a badge. */
export const countText = (count: number): string => (count > 10_000 ? t('many') : numberText(count))
