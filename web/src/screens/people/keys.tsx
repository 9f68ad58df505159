/** The people of the project, and the keys of its programs: what each may do, when it was last used, and when it ends. */
import { graphql, type ResultOf } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { principal } from '../../api/principal.ts'
import { usePages } from '../../api/pages.ts'
import { ListSection } from '../../parts/list-section.tsx'
import { Ago, Moment } from '../../parts/moments.tsx'
import { Principal } from '../../parts/principal.tsx'
import { wordsOf } from '../../parts/badge.tsx'
import { Foreign } from '../../parts/text.tsx'
import { NewKey } from './new-key.tsx'
import { RevokeKey } from './revoke-key.tsx'
import { t, T } from '../../texts/texts.tsx'

const keyRow = graphql(
  `
    fragment KeyRow on ApiKey {
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
  `,
  [principal],
)
const keysQuery = list('apiKeys', keyRow, '$votes:Boolean')

/** People decide: their keys vote, whether they were invited, joined with an account or got the secret. */
export const Members = () => <Keys arePeople />

export const Programs = () => <Keys arePeople={false} />

function Keys({ arePeople }: { arePeople: boolean }) {
  const pages = usePages(keysQuery, { votes: arePeople }, [
    'API_KEY_CREATED',
    'API_KEY_ACCEPTED',
    'API_KEY_REVOKED',
  ])
  return (
    <ListSection
      note={
        arePeople
          ? t(
              'People are invited with a link. The role is given with the invitation: to change it, invite again.',
            )
          : t('A program signs in with a key and never decides. Its secret is shown once.')
      }
      create={{
        id: 'key',
        needs: 'keys:Create',
        word: arePeople ? t('Invite a person') : t('New key'),
        render: (onClose) => <NewKey arePeople={arePeople} onClose={onClose} />,
      }}
      pages={pages}
      label={arePeople ? t('Members') : t('API keys')}
      columns={[t('Name'), t('Role'), t('Created'), t('Last used'), t('Expires'), '']}
      empty={
        arePeople
          ? { title: t('No members'), text: t('People of this project appear here.') }
          : { title: t('No keys'), text: t('Keys of this project appear here.') }
      }
      renderRow={(key) => <Row key={key.id} of={key} onRevoked={pages.reload} />}
    />
  )
}

type Key = ResultOf<typeof keysQuery>['apiKeys']['nodes'][number]

function Row({ of: key, onRevoked }: { of: Key; onRevoked(): void }) {
  return (
    <tr>
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
      <td className="actions">{!key.revokedAt && <RevokeKey of={key} onRevoked={onRevoked} />}</td>
    </tr>
  )
}
