/** API keys: who has one, what it may do, and when it ends. */
import { useState } from 'react'
import { graphql } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { usePages } from '../../api/pages.ts'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { Foreign } from '../../parts/text.tsx'
import { NewKey } from './new-key.tsx'
import { RevokeKey } from './revoke-key.tsx'

const keysQuery = graphql(
  `
    query Keys($projectId: ID, $after: String) {
      apiKeys(projectId: $projectId, first: 50, after: $after) {
        nodes {
          id
          name
          prefix
          role
          votes
          createdAt
          lastUsedAt
          expiresAt
          revokedAt
          invitedUntil
          creator {
            ...PrincipalParts
          }
          agent {
            id
            name
          }
        }
        pageInfo {
          endCursor
          hasNextPage
        }
      }
    }
  `,
  [principal],
)

export function Keys() {
  const [isOpen, setOpen] = useState(false)
  const pages = usePages(keysQuery, {}, (data) => data.apiKeys, {
    eventTypes: ['API_KEY_CREATED', 'API_KEY_ACCEPTED', 'API_KEY_REVOKED'],
  })
  return (
    <>
      <p className="row">
        <span className="mute">
          A key is a person or a program. People are invited with a link; a secret is shown once.
        </span>
        <button type="button" className="primary spread" onClick={() => setOpen(true)}>
          <Icon name="plus" /> New key
        </button>
      </p>
      <Listing
        pages={pages}
        label="API keys"
        columns={['Name', 'May', 'Made', 'Last used', 'Ends', '']}
        empty={{ title: 'No keys', text: 'Keys of this project stand here.' }}
        renderRow={(key) => (
          <tr key={key.id}>
            <td>
              <Foreign text={key.name} max={100} />
              <div className="mono small mute">{key.prefix}…</div>
            </td>
            <td>
              {key.agent
                ? `use ${key.agent.name} over MCP`
                : key.role
                  ? key.role.toLowerCase()
                  : 'by its own policy'}
              {!key.votes && <div className="small mute">a program, never votes</div>}
            </td>
            <td>
              <Ago at={key.createdAt} />
              {key.creator && (
                <div className="small">
                  by <Principal of={key.creator} />
                </div>
              )}
            </td>
            <td>
              {key.invitedUntil ? (
                <span className="tone-warn" title="Nobody has accepted the invitation">
                  invited, until <Moment at={key.invitedUntil} />
                </span>
              ) : key.lastUsedAt ? (
                <Ago at={key.lastUsedAt} />
              ) : (
                <span className="mute">never</span>
              )}
            </td>
            <td>
              {key.revokedAt ? (
                <span className="tone-bad">
                  revoked <Ago at={key.revokedAt} />
                </span>
              ) : key.expiresAt ? (
                <Moment at={key.expiresAt} />
              ) : (
                <span className="mute">never</span>
              )}
            </td>
            <td className="actions">{!key.revokedAt && <RevokeKey of={key} onRevoked={pages.reload} />}</td>
          </tr>
        )}
      />
      {isOpen && (
        <NewKey
          onClose={() => {
            setOpen(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}
