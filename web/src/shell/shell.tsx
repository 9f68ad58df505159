/** The frame around every screen: where one can go, who is signed in, and whether the page is up to date. */
import './shell.css'
import { lazy, Suspense, useState, type ReactNode } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { graphql } from '../api/document.ts'
import { useWhole } from '../api/pages.ts'
import { useQuery } from '../api/query.ts'
import { chooseProject, signOut, useProject } from '../api/session.ts'
import { useViewer } from '../api/viewer.ts'
import { Icon } from '../parts/icons.tsx'
import { useKeys } from '../parts/keys.ts'
import { PauseButton, pauseProject } from '../parts/pause.tsx'
import { placeAt, places, type Place, type View } from '../parts/places.ts'
import { SegmentLinks } from '../parts/segments.tsx'
import { Boundary } from '../parts/states.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { PausedBar } from './paused-bar.tsx'
import { Mark } from './sign-in.tsx'
import { Help } from './help.tsx'
import { AlertsButton } from './alerts.tsx'
import { LanguageButton } from './language.tsx'
import { ThemeButton } from './theme.tsx'
import { countText, usePending, useUnknown } from './summary.ts'
import { restOfTexts, t } from '../texts/texts.tsx'

/** The places that are tabs on a phone; the others are below More. */
const tabs = 4

// What is opened later has its texts in the second part.
const SavedViews = lazy(() => restOfTexts().then(() => import('./saved-views.tsx')))
const Palette = lazy(() => restOfTexts().then(() => import('./palette.tsx')))
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
  const projects = useWhole(projectsQuery, {}, ['PROJECT_UPDATED'])
  const pending = usePending()
  const unknown = useUnknown()
  const here = placeAt(location, useSearch())
  const isShown = useShown()
  useKeys({
    '?': () => setHelpOpen(true),
    'mod+k': () => setPaletteOpen(true),
    ...Object.fromEntries(
      places
        .flatMap(({ views }) => views)
        .flatMap(({ key, href }) => (key ? [[`g ${key}`, () => go(href)]] : [])),
    ),
  })
  return (
    <div className="shell">
      <title>{`${pending ? `(${countText(pending)}) ` : ''}${here?.view?.name ?? here?.place.name ?? 'Gatehouse'} · Gatehouse`}</title>
      <a className="skip" href="#content">
        {t('Skip to the content')}
      </a>
      <header className="rail">
        <div className="rail-head">
          <Mark />
          <Projects projects={projects} name={data?.project?.name ?? 'Gatehouse'} />
        </div>
        <Places here={here?.place} isShown={isShown} pending={pending} unknown={unknown} />
        <div className="rail-foot">
          <p className="cut mute small" title={name}>
            {data?.viewer.name ?? name}
          </p>
          <div className="row">
            <PauseButton isIcon {...pauseProject()} />
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
        {here?.view?.href === '/agents' && data?.viewer.modelNotice && (
          <ModelNotice text={data.viewer.modelNotice} />
        )}
        {here && <Views {...here} views={here.place.views.filter(isShown)} />}
        {children}
      </main>
      {isPaletteOpen && (
        <Boundary renderFallback={() => null}>
          <Suspense>
            <Palette isShown={isShown} onClose={() => setPaletteOpen(false)} />
          </Suspense>
        </Boundary>
      )}
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

/** Whether a view has anything for this person; nothing is hidden before that is known. */
function useShown(): (view: View) => boolean {
  const viewer = useViewer()
  return ({ needs }) => !viewer || needs.every((action) => viewer.may(action))
}

interface PlacesProps {
  here: Place | undefined
  isShown(view: View): boolean
  pending: number | null
  unknown: number | null
}

/** Where one can go: all places beside the screen, on a phone four tabs and the others below More. */
function Places({ here, isShown, pending, unknown }: PlacesProps) {
  const [location] = useLocation()
  const shown = places.flatMap((place) => {
    const first = place.views.find(isShown)
    return first ? [{ ...place, href: first.href, isHere: place === here }] : []
  })
  return (
    <nav aria-label={t('Main')}>
      {shown.map(({ name, icon, href, isHere }, at) => (
        <Link
          key={name}
          href={href}
          className={at < tabs ? undefined : 'rail-wide'}
          aria-current={isHere ? 'page' : undefined}
        >
          <Icon name={icon} />
          <span className="cut" title={name}>
            {name}
          </span>
          {icon === 'inbox' && (
            <>
              <Count of={pending} what={t('waiting')} />
              <Count of={unknown} what={t('unknown calls')} />
            </>
          )}
        </Link>
      ))}
      {/* A new one for each place, so that it closes behind who goes there. */}
      <details key={location} className="rail-more">
        <summary data-current={shown.slice(tabs).some(({ isHere }) => isHere) || undefined}>
          <Icon name="more" />
          <span>{t('More')}</span>
        </summary>
        <div>
          {shown.slice(tabs).map(({ name, icon, href }) => (
            <Link key={name} href={href}>
              <Icon name={icon} />
              <span>{name}</span>
            </Link>
          ))}
        </div>
      </details>
    </nav>
  )
}

interface ViewsProps {
  place: Place
  view: View | null
  views: readonly View[]
}

/** The views of a place, above each of them; the page of an object has the way back to its list instead. */
function Views({ place, view, views }: ViewsProps) {
  const [path] = useLocation()
  const isList = view?.href.split('?')[0] === path || path.startsWith('/approvals/')
  const [isOpen, setOpen] = useState(false)
  const mayList = useViewer()?.may('views:List') ?? false
  if (!isList || (views.length < 2 && !view?.isSaved)) return null
  return (
    <div className="views">
      {views.length > 1 && (
        <SegmentLinks
          label={place.name}
          links={views.map((one) => ({ href: one.href, name: one.name, isCurrent: one === view }))}
        />
      )}
      {view?.isSaved && mayList && (
        <button type="button" className="quiet spread" onClick={() => setOpen(true)}>
          {t('Saved views')}
        </button>
      )}
      {isOpen && (
        <Boundary renderFallback={() => null}>
          <Suspense>
            <SavedViews onClose={() => setOpen(false)} />
          </Suspense>
        </Boundary>
      )}
    </div>
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
  if (projects.length < 2)
    return (
      <span className="cut strong" title={name}>
        {name}
      </span>
    )
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
