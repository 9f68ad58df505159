/** The login of the person who reads this, at a server that is called with the login of each person. */
import { command } from '../api/command.ts'
import { graphql } from '../api/document.ts'
import { t } from '../texts/texts.tsx'
import { ActionButton } from './confirm.tsx'
import { useAction } from './use-action.ts'

const logInAnswer = graphql(`
  fragment LogInToUpstreamAnswer on LogInToUpstreamPayload {
    url
  }
`)
const logInMutation = command('logInToUpstream', logInAnswer)

interface LogInButtonProps {
  toolId: string
  label: string
  /** Called when there is nothing more to do: the sign-in of the reader is the login. */
  onEnd?(): void
}

export function LogInButton({ toolId, label, onEnd }: LogInButtonProps) {
  const logIn = useAction(logInMutation)
  const open = async () => {
    const asked = await logIn.act({ input: { toolId } })
    if (!asked) return
    const url = new URL(asked.url)
    if (url.pathname.startsWith('/upstreams/')) onEnd?.()
    else if (url.pathname === '/session/login') {
      // Somebody else may be signed in after it: this page begins anew.
      url.searchParams.set('to', location.pathname + location.search)
      location.assign(url)
    }
    // The server asks for a confirmation first; its answer comes over the feed.
    else window.open(url, '_blank', 'noopener')
  }
  return (
    <ActionButton needs="tools:Call" disabled={logIn.isRunning} onClick={() => void open()}>
      {label}
    </ActionButton>
  )
}

/** What a call waits for that needs a login, and the way to it for whose login it is. */
export function LoginQuestion({ toolId, isMine }: { toolId: string | undefined; isMine: boolean }) {
  return (
    <div className="outcome" role="status">
      <p>
        {isMine
          ? t('This call runs with your own login at the server of the tool, where you are not logged in.')
          : t(
              'This call waits until the person for whom it is made has logged in at the server of the tool.',
            )}
      </p>
      {isMine && toolId && <LogInButton toolId={toolId} label={t('Sign in to go on')} />}
    </div>
  )
}
