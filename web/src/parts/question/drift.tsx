/** What changed between a question and the call that it was about, and where the call is asked about again. */
import { Link } from 'wouter'
import { graphql } from '../../api/document.ts'
import { useQuery } from '../../api/query.ts'
import { Changes } from '../changes.tsx'
import { shownChange } from '../version-diff.ts'
import type { Question } from './documents.ts'
import { t, T } from '../../texts/texts.tsx'

const driftQuery = graphql(`
  query Drift($ids: [ID!]!) {
    nodes(ids: $ids) {
      __typename
      ... on Tool {
        versions(first: 50) {
          nodes {
            version
            createdAt
            changes {
              path
              before
              after
            }
          }
        }
      }
      ... on ToolCall {
        approval {
          id
        }
      }
    }
  }
`)

export function Drift({ question }: { question: Question }) {
  const { id, tool, toolVersion, toolCall, settledAt } = question
  const ids = [tool?.id, toolCall?.id].filter((one) => one !== undefined)
  const { data } = useQuery(driftQuery, { ids }, { skip: ids.length === 0 })
  if (!data) return null
  const next = data.nodes
    .map((node) => (node?.__typename === 'ToolCall' ? node.approval?.id : undefined))
    .find((newest) => newest !== undefined && newest !== id)
  const changes = data.nodes.flatMap((node) => {
    if (!node || !('versions' in node)) return []
    return node.versions.nodes
      .filter(({ version, createdAt }) => version > toolVersion && (!settledAt || createdAt <= settledAt))
      .toReversed()
      .flatMap((version) => version.changes.map((change) => ({ version: version.version, ...change })))
  })
  return (
    <>
      {changes.length > 0 ? (
        <section aria-label={t('What changed')} className="stack">
          <h3>
            <T
              text="{changes} since version {version}"
              changes={
                tool ? (
                  <Link href={`/tools/${tool.id}?tab=versions`}>{t('What changed')}</Link>
                ) : (
                  t('What changed')
                )
              }
              version={toolVersion}
            />
          </h3>
          <Changes changes={changes.map(shownChange)} label={t('What changed')} />
        </section>
      ) : (
        tool && <p>{t('The tool itself is as it was: the gate of its agent or project changed.')}</p>
      )}
      {next !== undefined && <Link href={`/approvals/${next}`}>{t('Open the new request')}</Link>}
    </>
  )
}
