/** A call whose outcome nobody knows: why that is, and the way to say what became of it. */
import { useState } from 'react'
import { ActionButton } from '../../parts/confirm.tsx'
import { ResolveCall, SentKey } from '../../parts/resolve-call.tsx'
import type { Call } from '../../parts/run/call-documents.ts'
import { t } from '../../texts/texts.tsx'

export function UnknownOutcome({ call, onDone }: { call: Call; onDone(): void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <section className="run-form run-unknown" aria-label={t('Unknown outcome')}>
      <h3>{t('Its outcome is unknown')}</h3>
      <p>
        {t(
          'The call was sent, but no answer came back: the connection broke, or the server stopped. It may have taken effect, so it was not sent again. Check the other side, by the key below, and record what you found.',
        )}
      </p>
      <p className="small">
        {t('Idempotency-Key')} <SentKey call={call} />
      </p>
      <div className="row">
        <ActionButton needs="toolCalls:Resolve" onClick={() => setOpen(true)}>
          {t('Resolve …')}
        </ActionButton>
      </div>
      {isOpen && (
        <ResolveCall
          call={call}
          onClose={() => {
            setOpen(false)
            onDone()
          }}
        />
      )}
    </section>
  )
}
