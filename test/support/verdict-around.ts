/** A verdict with something that happens between its read and its write. */
import type { Harness } from './harness.ts'
import { holdResponse, type Which } from './held-statement.ts'

/** The one statement that writes a plain verdict. */
export const writeOf = (approvalId: string): Which => ({
  begins: 'with o as',
  contains: 'update approvals',
  value: approvalId,
})

/** Decides, and lets `meanwhile` happen when only the write is left. Returns the payload, or the extensions of the error. */
export async function decideAround(
  h: Harness,
  input: { approvalId: string; verdict?: 'APPROVE' | 'REJECT' },
  meanwhile: () => Promise<unknown>,
  secret?: string,
): Promise<Record<string, any>> {
  const { approvalId, verdict = 'APPROVE' } = input
  const which = { begins: 'select id as', contains: 'end as owner', value: approvalId }
  const read = holdResponse(h.app.services.db, which)
  const deciding = h.gql(
    `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { __typename
      ... on Error { code } ... on ApprovalPayload { approval { status votes { by } } } } }`,
    { input: { approvalId, verdict } },
    secret,
  )
  await read.done
  await meanwhile()
  read.release()
  const { data, errors } = await deciding
  return data?.['decideApproval'] ?? errors?.[0]?.extensions
}
