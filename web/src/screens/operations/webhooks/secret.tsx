/** The signing secret of a webhook, shown once. */
import { SecretOnce } from '../../../parts/secret-once.tsx'

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
    <SecretOnce
      title="The signing secret"
      secret={secret}
      onClose={onClose}
      note={!isNew && <p className="mute">For 24 hours each delivery is signed with the previous one too.</p>}
    >
      Your endpoint verifies with it who sends.
    </SecretOnce>
  )
}
