/** Revokes a key, after it was said what ends with it. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { ConfirmAction } from '../../parts/confirm.tsx'
import { Skeleton } from '../../parts/states.tsx'
import { t, plural } from '../../texts/texts.tsx'

const revocationQuery = graphql(`
  query KeyRevocation($id: ID!) {
    node(id: $id) {
      ... on ApiKey {
        revocation {
          madeKeys
          includesCaller
          leavesNoAdmin
        }
      }
    }
  }
`)

const revokeMutation = command('revokeApiKey')

interface Props {
  of: { id: string; name: string }
  onRevoked(): void
}

export function RevokeKey({ of: { id, name }, onRevoked }: Props) {
  return (
    <ConfirmAction
      needs="keys:Revoke"
      word={t('Revoke')}
      question={t('Revoke {name}?', { name })}
      mutation={revokeMutation}
      variables={{ input: { id } }}
      done={t('The key {name} has ended, and every key made with it.', { name })}
      onEnd={onRevoked}
    >
      <p>{t('Its requests fail at once, its pages and sockets close, and keys made with it end too.')}</p>
      <Ends id={id} />
    </ConfirmAction>
  )
}

/** What ends with the key, beyond itself. Without an answer the worst is said. */
function Ends({ id }: { id: string }) {
  const { data, error } = useQuery(revocationQuery, { id })
  const node = data?.node
  const ends = node && 'revocation' in node ? node.revocation : null
  if (!ends && !error) return <Skeleton lines={1} />
  const madeKeys = ends?.madeKeys ?? 0
  return (
    <>
      {!ends && (
        <p className="tone-warn">
          {t(
            'The server did not say what ends with it: it may be your own key, or the last one of an admin.',
          )}
        </p>
      )}
      {madeKeys > 0 && (
        <p>
          {plural(madeKeys, 'One key created with it ends too.', '{count} keys created with it end too.')}
        </p>
      )}
      {ends?.includesCaller && (
        <p className="tone-bad">
          {t(
            'You are signed in with it, or with a key made with it: this page closes, and you need another key to come back.',
          )}
        </p>
      )}
      {ends?.leavesNoAdmin && (
        <p className="tone-bad">
          {t('No other key of an admin remains: nobody with a key could make keys in this project any more.')}
        </p>
      )}
    </>
  )
}
