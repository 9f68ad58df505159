/** Signing in: with an API key, or with the identity provider of the installation. */
import './shell.css'
import { useState, type FormEvent } from 'react'
import { signIn } from '../api/session.ts'
import { t } from '../texts/texts.tsx'

export function SignIn({ reason, loginPath }: { reason: string | null; loginPath: string | null }) {
  const [key, setKey] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isBusy || key === '') return
    setBusy(true)
    const refusal = await signIn(key.trim())
    setBusy(false)
    setFault(refusal)
    if (!refusal) setKey('')
  }
  return (
    <main className="sign-in">
      <title>{t('Sign in · Gatehouse')}</title>
      <h1>
        <Mark /> Gatehouse
      </h1>
      <p className="mute">{reason ?? t('Approvals, runs and tools of your agents.')}</p>
      {loginPath && (
        <>
          <a className="button" href={`${loginPath}?to=${encodeURIComponent(location.pathname)}`}>
            {t('Sign in with your organisation')}
          </a>
          <p className="mute small">{t('or with an API key')}</p>
        </>
      )}
      <form onSubmit={(event) => void submit(event)}>
        <label>
          <span>{t('API key')}</span>
          <input
            type="password"
            name="key"
            value={key}
            autoComplete="current-password"
            placeholder="gh_…"
            aria-invalid={fault !== null}
            aria-describedby={fault ? 'sign-in-fault' : undefined}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        {fault && (
          <p id="sign-in-fault" className="tone-bad" role="alert">
            {fault}
          </p>
        )}
        <button type="submit" className="primary" disabled={isBusy || key === ''}>
          {isBusy ? t('Signing in …') : t('Sign in')}
        </button>
      </form>
    </main>
  )
}

export function Mark() {
  return <img src="/favicon.svg" width="24" height="24" alt="" />
}
