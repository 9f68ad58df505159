/** The frame around every screen: where one can go, who is signed in, and whether the page is up to date. */
import './shell.css'
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { graphql } from '../api/document.ts'
import { useWhole } from '../api/pages.ts'
import { useQuery } from '../api/query.ts'
import { chooseProject, signOut, useProject } from '../api/session.ts'
import { Icon, type IconName } from '../parts/icons.tsx'
import { useKeys } from '../parts/keys.ts'
import { Boundary } from '../parts/states.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { PausedBar } from './paused-bar.tsx'
import { Mark } from './sign-in.tsx'
import { Help } from './help.tsx'
import { AlertsButton } from './alerts.tsx'
import { LanguageButton } from './language.tsx'
import { ThemeButton } from './theme.tsx'
import { countText, usePending, useUnknown } from './summary.ts'
import { t } from '../texts/texts.tsx'

interface Place {
  href: string
  name: string
  icon: IconName
  key: string
}

const places: Place[] = [
  { href: '/approvals', name: t('Inbox'), icon: 'inbox', key: 'i' },
  { href: '/runs', name: t('Runs'), icon: 'runs', key: 'r' },
  { href: '/agents', name: t('Agents'), icon: 'agents', key: 'a' },
  { href: '/tools', name: t('Tools'), icon: 'tools', key: 't' },
  { href: '/upstreams', name: t('Upstreams'), icon: 'upstreams', key: 'u' },
  { href: '/operations', name: t('Operations'), icon: 'operations', key: 'o' },
]

/** The places that are tabs on a phone; the others are below More. */
const tabs = 4

const Palette = lazy(() => import('./palette.tsx'))
const screens = places.map(({ href, name }) => ({ href, name, kind: t('screen') }))

const viewerQuery = graphql(`
  query Viewer($projectId: ID!) {
    viewer {
      name
      modelNotice
    }
    project(id: $projectId) {
      id
      name
    }
  }
`)

const projectsQuery = graphql(`
  query Projects($after: String) {
    projects(first: 50, after: $after) {
      nodes {
        id
        name
      }
      pageInfo {
        endCursor
        hasNextPage
      }
    }
  }
`)

export function Shell({ name, children }: { name: string; children: ReactNode }) {
  const [location, go] = useLocation()
  const [isHelpOpen, setHelpOpen] = useState(false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const { data } = useQuery(viewerQuery, {}, { eventTypes: ['PROJECT_UPDATED'] })
  const projects = useWhole(projectsQuery, {}, (read) => read.projects, { eventTypes: ['PROJECT_UPDATED'] })
  const pending = usePending()
  const unknown = useUnknown()
  const here = places.find(({ href }) => location.startsWith(href))
  useKeys({
    '?': () => setHelpOpen(true),
    'mod+k': () => setPaletteOpen(true),
    ...Object.fromEntries(places.map(({ key, href }) => [`g ${key}`, () => go(href)])),
  })
  return (
    <div className="shell">
      <title>{`${pending ? `(${countText(pending)}) ` : ''}${here?.name ?? 'Gatehouse'} · Gatehouse`}</title>
      <a className="skip" href="#content">
        {t('Skip to the content')}
      </a>
      <header className="rail">
        <div className="rail-head">
          <Mark />
          <Projects projects={projects} name={data?.project?.name ?? 'Gatehouse'} />
        </div>
        <Places here={here} pending={pending} unknown={unknown} />
        <div className="rail-foot">
          <p className="cut mute small" title={name}>
            {data?.viewer.name ?? name}
          </p>
          <div className="row">
            <AlertsButton />
            <ThemeButton />
            <LanguageButton />
            <button
              type="button"
              className="quiet"
              aria-label={t('Keys|keyboard')}
              title={t('Keys (?)')}
              onClick={() => setHelpOpen(true)}
            >
              ?
            </button>
            <button
              type="button"
              className="quiet"
              aria-label={t('Sign out')}
              title={t('Sign out')}
              onClick={() => void signOut()}
            >
              <Icon name="leave" />
            </button>
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <PausedBar />
        <ConnectionNotice />
        {here?.href === '/agents' && data?.viewer.modelNotice && (
          <ModelNotice text={data.viewer.modelNotice} />
        )}
        {children}
      </main>
      {isPaletteOpen && (
        <Boundary renderFallback={() => null}>
          <Suspense>
            <Palette screens={screens} onClose={() => setPaletteOpen(false)} />
          </Suspense>
        </Boundary>
      )}
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

interface PlacesProps {
  here: Place | undefined
  pending: number | null
  unknown: number | null
}

/** Where one can go: all places beside the screen, on a phone four tabs and the others below More. */
function Places({ here, pending, unknown }: PlacesProps) {
  const [location] = useLocation()
  return (
    <nav aria-label={t('Main')}>
      {places.map((place, at) => (
        <Link
          key={place.href}
          href={place.href}
          className={at < tabs ? undefined : 'rail-wide'}
          aria-current={here === place ? 'page' : undefined}
        >
          <Icon name={place.icon} />
          <span>{place.name}</span>
          {place.href === '/approvals' && <Count of={pending} what={t('waiting')} />}
          {place.href === '/operations' && <Count of={unknown} what={t('unknown calls')} />}
        </Link>
      ))}
      {/* A new one for each place, so that it closes behind who goes there. */}
      <details key={location} className="rail-more">
        <summary data-current={places.indexOf(here ?? places[0]!) >= tabs || undefined}>
          <Icon name="operations" />
          <span>{t('More')}</span>
          <Count of={unknown} what={t('unknown calls')} />
        </summary>
        <div>
          {places.slice(tabs).map(({ href, name: label, icon }) => (
            <Link key={href} href={href}>
              <Icon name={icon} />
              <span>{label}</span>
            </Link>
          ))}
        </div>
      </details>
    </nav>
  )
}

function Count({ of, what }: { of: number | null; what: string }) {
  if (!of) return null
  return (
    <span className="count" aria-label={`${countText(of)} ${what}`}>
      {countText(of)}
    </span>
  )
}

function ModelNotice({ text }: { text: string }) {
  const [isShown, setShown] = useState(true)
  if (!isShown) return null
  return (
    <div className="notice" role="note">
      <span>{text}</span>
      <button type="button" className="quiet" onClick={() => setShown(false)}>
        {t('Hide')}
      </button>
    </div>
  )
}

/** The project in use; a choice for those who may see several. */
function Projects({ projects, name }: { projects: readonly { id: string; name: string }[]; name: string }) {
  const current = useProject()
  if (projects.length < 2) return <span className="cut strong">{name}</span>
  return (
    <select
      aria-label={t('Project')}
      value={current ?? ''}
      onChange={(event) => chooseProject(event.target.value)}
    >
      {projects.map((project) => (
        <option key={project.id} value={project.id}>
          {project.name}
        </option>
      ))}
    </select>
  )
}
