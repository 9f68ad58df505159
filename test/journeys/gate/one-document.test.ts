/** One document reads the approval in every member of the result of a verdict: its type is the same in all of them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDeployment, type Deployment } from '../../support/deployment.ts'

let deployment: Deployment
beforeAll(async () => void (deployment = await openDeployment('PGlite')))
afterAll(() => deployment?.close())

test('the payload and both errors select the approval under one name', async () => {
  const h = deployment.replicas[0]!
  const { toolId } = await deployment.payer({ mode: 'ALWAYS' })
  const called = await h.mutate('callTool', { toolId, arguments: { n: '1' } }, 'toolCall { approval { id } }')
  const approvalId = called['toolCall'].approval.id as string
  const document = `mutation($input: DecideApprovalInput!) { decideApproval(input: $input) {
    __typename
    ... on ApprovalPayload { approval { id status } }
    ... on ApprovalAlreadyDecidedError { approval { id status } }
    ... on ApprovalExpiredError { approval { id status } } } }`
  const { secret } = await h.mutate('createApiKey', { name: 'k', role: 'APPROVER' }, 'secret')
  const decide = async () => {
    const { data, errors } = await h.gql(document, { input: { approvalId, verdict: 'REJECT' } }, secret)
    expect(errors).toBeUndefined()
    return data['decideApproval']
  }
  const approval = { id: approvalId, status: 'REJECTED' }
  expect(await decide()).toEqual({ __typename: 'ApprovalPayload', approval })
  expect(await decide()).toEqual({ __typename: 'ApprovalAlreadyDecidedError', approval })
})
