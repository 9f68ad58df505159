/** Which screen stands at which address. */
import { lazy, Suspense, type ComponentType, type ReactNode } from 'react'
import { Link, Redirect, Route, Switch, useSearch } from 'wouter'
import { graphql } from './api/document.ts'
import { useQuery } from './api/query.ts'
import { useSession } from './api/session.ts'
import { useViewer } from './api/viewer.ts'
import { formerTabs, placeAt, places } from './parts/places.ts'
import { Boundary, Empty, Skeleton } from './parts/states.tsx'
import { Toasts } from './parts/toasts.tsx'
import { SignIn } from './shell/sign-in.tsx'
import { Shell } from './shell/shell.tsx'
import { Inbox } from './screens/inbox/inbox.tsx'
import { restOfTexts, t } from './texts/texts.tsx'

/** A screen that is loaded when it is opened, with its texts before it. */
const screen = <Props extends object>(load: () => Promise<ComponentType<Props>>) =>
  lazy(async () => {
    await restOfTexts()
    return { default: await load() }
  })

const Runs = screen(async () => (await import('./screens/runs/runs.tsx')).Runs)
const RunScreen = screen(async () => (await import('./screens/runs/run.tsx')).RunScreen)
const CompareRuns = screen(async () => (await import('./screens/runs/compare.tsx')).CompareRuns)
const UpstreamScreen = screen(async () => (await import('./screens/upstreams/upstream.tsx')).UpstreamScreen)
const Tools = screen(async () => (await import('./screens/tools/tools.tsx')).Tools)
const NewTool = screen(async () => (await import('./screens/tools/new-tool.tsx')).NewTool)
const NewUpstream = screen(async () => (await import('./screens/tools/new-upstream.tsx')).NewUpstream)
const ImportOpenApi = screen(
  async () => (await import('./screens/tools/import/openapi-page.tsx')).ImportOpenApi,
)
const ToolScreen = screen(async () => (await import('./screens/tools/tool.tsx')).ToolScreen)
const Agents = screen(async () => (await import('./screens/agents/agents.tsx')).Agents)
const NewAgent = screen(async () => (await import('./screens/agents/definition.tsx')).NewAgent)
const AgentScreen = screen(async () => (await import('./screens/agents/agent.tsx')).AgentScreen)
const TourScreen = screen(async () => (await import('./screens/tour/tour.tsx')).TourScreen)

const WebhookScreen = screen(async () => (await import('./screens/settings/webhooks/one.tsx')).WebhookScreen)

/** The screens that are one list or form below the views of their place, by their address. */
const framed: Record<string, ComponentType> = {
  '/insights': screen(async () => (await import('./screens/insights/insights.tsx')).Insights),
  '/unknown': screen(async () => (await import('./screens/inbox/unknown-calls.tsx')).UnknownCalls),
  '/audit': screen(async () => (await import('./screens/activity/audit.tsx')).Audit),
  '/callbacks': screen(async () => (await import('./screens/settings/webhooks/webhooks.tsx')).Callbacks),
  '/people': screen(async () => (await import('./screens/people/keys.tsx')).Members),
  '/people/programs': screen(async () => (await import('./screens/people/keys.tsx')).Programs),
  '/people/sessions': screen(async () => (await import('./screens/people/sessions.tsx')).Sessions),
  '/settings': screen(async () => (await import('./screens/settings/project.tsx')).ProjectSettings),
  '/settings/providers': screen(async () => (await import('./screens/settings/providers.tsx')).Providers),
  '/settings/secrets': screen(async () => (await import('./screens/settings/secrets.tsx')).Secrets),
  '/settings/webhooks': screen(
    async () => (await import('./screens/settings/webhooks/webhooks.tsx')).Webhooks,
  ),
  '/settings/slack': screen(async () => (await import('./screens/settings/slack/slack.tsx')).Slack),
  '/settings/files': screen(async () => (await import('./screens/settings/files.tsx')).Files),
  '/settings/retention': screen(
    async () => (await import('./screens/settings/retention/retention.tsx')).Retention,
  ),
}

export function App() {
  const session = useSession()
  if (session.state === 'unknown') return <Skeleton />
  if (session.state === 'out') return <SignIn reason={session.reason} loginPath={session.loginPath} />
  return (
    <>
      <Shell name={session.name}>
        <Screens />
      </Shell>
      <Toasts />
    </>
  )
}

/** A screen whose fault or missing part leaves the rest of the page in place. */
function Part({ children }: { children: ReactNode }) {
  return (
    <Boundary
      renderFallback={(retry) => (
        <Empty title={t('This part could not be shown')}>
          <button type="button" onClick={retry}>
            {t('Try again')}
          </button>
        </Empty>
      )}
    >
      <Suspense fallback={<Skeleton />}>{children}</Suspense>
    </Boundary>
  )
}

function Screens() {
  return (
    <Part>
      <Switch>
        <Route path="/">
          <Home />
        </Route>
        <Route path="/approvals/:id?">{({ id }) => <Inbox id={id ?? null} />}</Route>
        <Route path="/tour">
          <TourScreen />
        </Route>
        <Route path="/runs">
          <Runs />
        </Route>
        <Route path="/runs/:id">{({ id }) => <RunScreen key={id} id={id} />}</Route>
        <Route path="/runs/:id/compare/:other">
          {({ id, other }) => <CompareRuns key={`${id} ${other}`} id={id} other={other} />}
        </Route>
        <Route path="/agents">
          <Agents />
        </Route>
        <Route path="/agents/new">
          <NewAgent />
        </Route>
        <Route path="/agents/:id">{({ id }) => <AgentScreen id={id} />}</Route>
        <Route path="/tools">
          <Tools />
        </Route>
        <Route path="/tools/new">
          <NewTool />
        </Route>
        <Route path="/tools/import">
          <ImportOpenApi />
        </Route>
        <Route path="/tools/:id">{({ id }) => <ToolScreen id={id} />}</Route>
        <Route path="/upstreams">
          <Redirect to="/tools?kind=MCP" replace />
        </Route>
        <Route path="/upstreams/new">
          <NewUpstream />
        </Route>
        <Route path="/upstreams/:id">{({ id }) => <UpstreamScreen id={id} />}</Route>
        <Route path="/settings/webhooks/:id">{({ id }) => <WebhookScreen key={id} id={id} />}</Route>
        {Object.entries(framed).map(([path, Screen]) => (
          <Route key={path} path={path}>
            <Framed path={path}>
              <Screen />
            </Framed>
          </Route>
        ))}
        <Route path="/operations/:tab?/:id?">
          {({ tab, id }) => <Former tab={tab ?? 'unknown'} id={id ?? null} />}
        </Route>
        <Route>
          <NotFound />
        </Route>
      </Switch>
    </Part>
  )
}

const firstQuery = graphql(`
  query First {
    viewer {
      tour {
        processId
      }
    }
    approvals(filter: { statuses: [APPROVED, REJECTED] }, first: 1) {
      nodes {
        id
      }
    }
  }
`)

/** The first screen: the tour until something was decided, then the figures for who may see them, else what waits. */
function Home() {
  const viewer = useViewer()
  const { data, error } = useQuery(firstQuery, {}, { skip: !viewer?.isOperator })
  if (!viewer || (viewer.isOperator && !data && !error)) return <Skeleton />
  if (data?.viewer.tour && data.approvals.nodes.length === 0) return <Redirect to="/tour" replace />
  const [insights] = places[0]!.views
  return <Redirect to={insights.needs.every(viewer.may) ? insights.href : '/approvals'} replace />
}

/** A screen without a head of its own: its name is that of its view, which stands above it where there are several. */
function Framed({ path, children }: { path: string; children: ReactNode }) {
  const at = placeAt(path, '')
  const isAlone = at?.place.views.length === 1
  return (
    <>
      <header className={isAlone ? 'screen-head' : 'sr-only'}>
        <h1>{at?.view?.name}</h1>
      </header>
      <div className="screen-body">{children}</div>
    </>
  )
}

/** Addresses of the release before, in mails and bookmarks. */
function Former({ tab, id }: { tab: string; id: string | null }) {
  const search = useSearch()
  if (!Object.hasOwn(formerTabs, tab)) return <NotFound />
  return <Redirect to={`${formerTabs[tab]}${id ? `/${id}` : ''}${search && `?${search}`}`} replace />
}

const NotFound = () => (
  <Empty title={t('Page not found')}>
    <Link href="/approvals">{t('Go to the inbox')}</Link>
  </Empty>
)
