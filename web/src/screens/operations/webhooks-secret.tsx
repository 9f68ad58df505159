/** The signing secret of a webhook, shown once. */
import { CopyId } from '../../parts/copy-id.tsx'
import { Dialog } from '../../parts/dialog.tsx'

export function SigningSecret({
  secret,
  isNew,
  onClose,
}: {
  secret: string
  isNew: boolean
  onClose(): void
}) {
  return (
    <Dialog title="The signing secret" onClose={onClose}>
      <div className="stack">
        <p>This is shown only once. Your endpoint verifies with it who sends.</p>
        <CopyId id={secret} label="secret" />
        {!isNew && <p className="mute">For 24 hours each delivery is signed with the previous one too.</p>}
        <button type="button" className="primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  )
}
