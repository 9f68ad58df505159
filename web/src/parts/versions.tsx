/** The history of a tool or an agent: who made each version, and what differs between two of them. */
import './versions.css'
import { graphql, type FragmentOf } from '../api/document.ts'
import { usePages } from '../api/pages.ts'
import { principal } from '../api/principal.ts'
import { useAddress } from './address.ts'
import { Changes } from './changes.tsx'
import { Listing } from './listing.tsx'
import { Ago } from './moments.tsx'
import { Principal } from './principal.tsx'
import { Foreign } from './text.tsx'
import { differences, placeOf } from './version-diff.ts'
import { t } from '../texts/texts.tsx'

const page = graphql(
  `
    fragment VersionPage on VersionConnection {
      nodes {
        version
        createdAt
        definition
        author {
          ...PrincipalParts
        }
        changes {
          path
          before
          after
        }
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  `,
  [principal],
)
type Version = FragmentOf<typeof page>['nodes'][number]

const versionsQuery = graphql(
  `
    query Versions($id: ID!, $after: String) {
      node(id: $id) {
        __typename
        ... on Tool {
          versions(first: 20, after: $after) {
            ...VersionPage
          }
        }
        ... on Agent {
          versions(first: 20, after: $after) {
            ...VersionPage
          }
        }
      }
    }
  `,
  [page],
)

const nothing = { nodes: [], pageInfo: { endCursor: null, hasNextPage: false } }

/** Of the tool or agent with this id. Which two versions are compared stands in the address. */
export function Versions({ id }: { id: string }) {
  const { params, replace } = useAddress()
  const pages = usePages(versionsQuery, { id }, ['TOOL_UPDATED', 'GATE_CHANGED', 'AGENT_UPDATED'], {
    of: ({ node }) => (node && 'versions' in node ? node.versions : nothing),
  })
  const numbers = pages.nodes.map(({ version }) => version)
  const chosen = (name: string, defaultVersion: number | undefined) => {
    const given = Number(params.get(name))
    return numbers.includes(given) ? given : defaultVersion
  }
  const to = chosen('to', numbers[0])
  const from = chosen('from', numbers.find((one) => to !== undefined && one < to) ?? to)
  const compare = (first: number, second: number) => replace({ from: String(first), to: String(second) })
  return (
    <div className="stack versions">
      {from !== undefined && to !== undefined && numbers.length > 1 && (
        <Comparison versions={pages.nodes} from={from} to={to} onChange={compare} />
      )}
      <Listing
        pages={pages}
        label={t('Versions')}
        columns={[t('Version'), t('What changed'), t('By'), '']}
        empty={{ title: t('No versions'), text: t('Each change creates a version, listed here.') }}
        renderRow={(version) => (
          <Row
            key={version.version}
            version={version}
            onCompare={
              numbers.includes(version.version - 1) && numbers.length > 1
                ? () => compare(version.version - 1, version.version)
                : null
            }
          />
        )}
      />
    </div>
  )
}

interface ComparisonProps {
  versions: readonly Version[]
  from: number
  to: number
  onChange(from: number, to: number): void
}

function Comparison({ versions, from, to, onChange }: ComparisonProps) {
  const changes = differences(versions, from, to)
  const choice = (label: string, value: number, change: (version: number) => void) => (
    <>
      <span aria-hidden="true">{label}</span>
      <select aria-label={label} value={value} onChange={(event) => change(Number(event.target.value))}>
        {versions.map(({ version }) => (
          <option key={version} value={version}>
            {t('version {version}', { version })}
          </option>
        ))}
      </select>
    </>
  )
  return (
    <section aria-label={t('Comparison')} className="stack">
      <div className="row versions-choice">
        {choice(t('From'), from, (version) => onChange(version, to))}
        {choice(t('to'), to, (version) => onChange(from, version))}
      </div>
      <div className="panel versions-diff">
        {changes.length === 0 ? (
          <p className="mute">{t('There is no difference between the two.')}</p>
        ) : (
          <Changes
            changes={changes}
            label={t('What changed from version {from} to version {to}', { from, to })}
          />
        )}
      </div>
    </section>
  )
}

/** Places that are named in a row; the others are counted. */
const mostPlaces = 3

function Row({ version, onCompare }: { version: Version; onCompare: (() => void) | null }) {
  const places = version.changes.map(({ path }) => placeOf(path))
  const left = places.length - mostPlaces
  return (
    <tr>
      <td>{version.version}</td>
      <td className="versions-places">
        {places.length === 0 ? (
          <span className="mute">{version.version === 1 ? t('created') : t('nothing')}</span>
        ) : (
          <Foreign className="mono small" text={places.slice(0, mostPlaces).join(', ')} max={200} />
        )}
        {left > 0 && <span className="mute"> {t('and {count} more', { count: left })}</span>}
      </td>
      <td>
        {version.author ? (
          <Principal of={version.author} />
        ) : (
          <span className="mute">{t('not recorded')}</span>
        )}
        <div className="small mute nowrap">
          <Ago at={version.createdAt} />
        </div>
      </td>
      <td className="actions">
        {onCompare && (
          <button type="button" className="quiet" onClick={onCompare}>
            {t('Compare')}
            <span className="sr-only">
              {' '}
              {t('version {from} with {to}', {
                from: version.version - 1,
                to: version.version,
              })}
            </span>
          </button>
        )}
      </td>
    </tr>
  )
}
