/** What the inbox reads and does. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'

const grantRow = graphql(
  `
    fragment GrantRow on Grant {
      id
      toolName
      scope
      refuses
      uses
      maxUses
      expiresAt
      createdAt
      granter {
        ...PrincipalParts
      }
      agentId
      threadId
      requester {
        ...PrincipalParts
      }
      approval {
        id
      }
    }
  `,
  [principal],
)
export const grantsQuery = list('grants', grantRow, '$active:Boolean')

export const revokeMutation = command('revokeGrant')
