/** What the triggers of an agent read and do. */
import { command } from '../../api/command.ts'
import { graphql, type FragmentOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'

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

export const triggersQuery = list('triggers', triggerRow, '$agentId:ID')

/** After these a trigger may look different. */
export const triggerTypes = [
  'TRIGGER_CREATED',
  'TRIGGER_UPDATED',
  'TRIGGER_DELETED',
  'TRIGGER_STARTED',
  'TRIGGER_SKIPPED',
] as const

const secretAnswer = graphql(
  `
    fragment TriggerSecret on TriggerPayload {
      secret
      trigger {
        ...TriggerRow
      }
    }
  `,
  [triggerRow],
)
export const createTriggerMutation = command('createTrigger', secretAnswer)

export const rotateMutation = command('rotateTriggerSecret', secretAnswer)

export const updateTriggerMutation = command('updateTrigger')
export const deleteTriggerMutation = command('deleteTrigger')
export const startTriggerMutation = command('startTrigger')
