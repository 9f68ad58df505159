/** What the screens of runs read and do. */
import { graphql, type FragmentOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { command } from '../../api/command.ts'
import { principal } from '../../api/principal.ts'

const runRow = graphql(
  `
    fragment RunRow on Generation {
      id
      status
      stopReason
      createdAt
      startedAt
      finishedAt
      stepCount
      failedCallCount
      depth
      inputLine
      outputLine
      requester {
        ...PrincipalParts
      }
      agent {
        id
        name
      }
      model {
        name
        isAi
      }
      error {
        code
      }
      totalUsage {
        totalTokens
      }
      totalCost
      requiredAction {
        toolCalls {
          id
          name
        }
        approvals {
          id
          toolName
          summary {
            parts {
              text
              isValue
            }
          }
        }
      }
    }
  `,
  [principal],
)

export const runsQuery = list('generations', runRow, '$filter:GenerationFilter')

/** Only the ids, to find the neighbours of a run that was opened without the list. */
export const runIdsQuery = graphql(`
  query RunIds($projectId: ID) {
    generations(projectId: $projectId, first: 100) {
      nodes {
        id
      }
    }
  }
`)

const runAnswer = graphql(`
  fragment RunAnswer on GenerationPayload {
    generation {
      id
      status
    }
  }
`)
export const startMutation = command('startGeneration', runAnswer)

export const cancelMutation = command('cancelGeneration', runAnswer)

export type RunRow = FragmentOf<typeof runRow>

/** Events after which a row of the list may look different. */
export const runTypes = [
  'GENERATION_QUEUED',
  'GENERATION_STARTED',
  'GENERATION_RESUMED',
  'GENERATION_COMPLETED',
  'GENERATION_FAILED',
  'GENERATION_CANCELLED',
  'GENERATION_EXPIRED',
  'REQUIRES_ACTION',
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'APPROVAL_VOIDED',
] as const
