/** Which screen stands at which address. */
import { lazy, Suspense, type ComponentType, type ReactNode } from 'react'
import { Link, Redirect, Route, Switch } from 'wouter'
import { useSession } from './api/session.ts'
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
const Operations = screen(async () => (await import('./screens/operations/operations.tsx')).Operations)
const WebhookScreen = screen(
  async () => (await import('./screens/operations/webhooks/one.tsx')).WebhookScreen,
)
const Upstreams = screen(async () => (await import('./screens/upstreams/upstreams.tsx')).Upstreams)
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
          <Redirect to="/approvals" replace />
        </Route>
        <Route path="/approvals/:id?">{({ id }) => <Inbox id={id ?? null} />}</Route>
        <Route path="/runs">
          <Runs />
        </Route>
        <Route path="/runs/:id">{({ id }) => <RunScreen key={id} id={id} />}</Route>
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
          <Upstreams />
        </Route>
        <Route path="/upstreams/new">
          <NewUpstream />
        </Route>
        <Route path="/upstreams/:id">{({ id }) => <UpstreamScreen id={id} />}</Route>
        <Route path="/operations/webhooks/:id">{({ id }) => <WebhookScreen key={id} id={id} />}</Route>
        <Route path="/operations/:tab?">{({ tab }) => <Operations tab={tab ?? 'unknown'} />}</Route>
        <Route>
          <Empty title={t('Page not found')}>
            <Link href="/approvals">{t('Go to the inbox')}</Link>
          </Empty>
        </Route>
      </Switch>
    </Part>
  )
}
