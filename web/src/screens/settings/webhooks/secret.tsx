/** The signing secret of a webhook, shown once. */
import { SecretOnce } from '../../../parts/secret-once.tsx'
import { t } from '../../../texts/texts.tsx'

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
      title={t('The signing secret')}
      secret={secret}
      onClose={onClose}
      note={
        !isNew && (
          <p className="mute">{t('For 24 hours each delivery is signed with the previous one too.')}</p>
        )
      }
    >
      {t('Your endpoint verifies with it who sends.')}
    </SecretOnce>
  )
}
