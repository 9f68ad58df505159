/** API keys: who has one, what it may do, and when it ends. */
import { useState } from 'react'
import { graphql } from '../../api/document.ts'
import { principal } from '../../api/principal.ts'
import { usePages } from '../../api/pages.ts'
import { Icon } from '../../parts/icons.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { wordsOf } from '../../parts/badge.tsx'
import { Foreign } from '../../parts/text.tsx'
import { NewKey } from './new-key.tsx'
import { RevokeKey } from './revoke-key.tsx'
import { t, T } from '../../texts/texts.tsx'

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
          joinedBy {
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
          {t('A key is a person or a program. People are invited with a link; a secret is shown once.')}
        </span>
        <button type="button" className="primary spread" onClick={() => setOpen(true)}>
          <Icon name="plus" /> {t('New key')}
        </button>
      </p>
      <Listing
        pages={pages}
        label={t('API keys')}
        columns={[t('Name'), t('Role'), t('Created'), t('Last used'), t('Expires'), '']}
        empty={{ title: t('No keys'), text: t('Keys of this project appear here.') }}
        renderRow={(key) => (
          <tr key={key.id}>
            <td>
              <Foreign text={key.name} max={100} />
              {key.joinedBy ? (
                <div className="small mute">
                  <T text="signs in as {who}" who={<Principal of={key.joinedBy} />} />
                </div>
              ) : (
                <div className="mono small mute">{key.prefix}…</div>
              )}
            </td>
            <td>
              {key.agent
                ? t('use {name} over MCP', { name: key.agent.name })
                : key.role
                  ? wordsOf(key.role)
                  : t('by its own policy')}
              {!key.votes && <div className="small mute">{t('a program, never votes')}</div>}
            </td>
            <td>
              <Ago at={key.createdAt} />
              {key.creator && (
                <div className="small">
                  <T text="by {who}" who={<Principal of={key.creator} />} />
                </div>
              )}
            </td>
            <td>
              {key.invitedUntil ? (
                <span className="tone-warn" title={t('Nobody has accepted the invitation')}>
                  <T text="invited until {time}" time={<Moment at={key.invitedUntil} />} />
                </span>
              ) : key.lastUsedAt ? (
                <Ago at={key.lastUsedAt} />
              ) : (
                <span className="mute">{t('never')}</span>
              )}
            </td>
            <td>
              {key.revokedAt ? (
                <span className="tone-bad">
                  <T text="revoked {time}" time={<Ago at={key.revokedAt} />} />
                </span>
              ) : key.expiresAt ? (
                <Moment at={key.expiresAt} />
              ) : (
                <span className="mute">{t('never')}</span>
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
