/** What the triggers of an agent read and do. */
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf } from '../../api/document.ts'
import { faults } from '../../api/faults.ts'

const triggerRow = graphql(`
  fragment TriggerRow on Trigger {
    id
    name
    kind
    enabled
    prompt
    cron
    timeZone
    url
    nextTimes
    lastAt
    lastError
    missed
    version
    lastGeneration {
      id
    }
  }
`)
export type TriggerRow = FragmentOf<typeof triggerRow>

export const triggersQuery = graphql(
  `
    query Triggers($projectId: ID, $agentId: ID, $after: String) {
      triggers(projectId: $projectId, agentId: $agentId, first: 50, after: $after) {
        nodes {
          ...TriggerRow
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [triggerRow],
)

/** After these a trigger may look different. */
export const triggerTypes = [
  'TRIGGER_CREATED',
  'TRIGGER_UPDATED',
  'TRIGGER_DELETED',
  'TRIGGER_STARTED',
  'TRIGGER_SKIPPED',
] as const

export const createTriggerMutation = graphql(
  `
    mutation CreateTrigger($input: CreateTriggerInput!) {
      createTrigger(input: $input) {
        __typename
        ... on TriggerPayload {
          secret
          trigger {
            ...TriggerRow
          }
        }
        ...Faults
      }
    }
  `,
  [triggerRow, faults],
)

export const rotateMutation = graphql(
  `
    mutation RotateTriggerSecret($input: RotateTriggerSecretInput!) {
      rotateTriggerSecret(input: $input) {
        __typename
        ... on TriggerPayload {
          secret
        }
        ...Faults
      }
    }
  `,
  [faults],
)

export const updateTriggerMutation = command('updateTrigger')
export const deleteTriggerMutation = command('deleteTrigger')
export const startTriggerMutation = command('startTrigger')
