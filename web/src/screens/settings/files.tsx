/** Files that were uploaded for agents and tools. */
import { command } from '../../api/command.ts'
import { graphql } from '../../api/document.ts'
import { list } from '../../api/reads.ts'
import { usePages } from '../../api/pages.ts'
import { ConfirmAction } from '../../parts/confirm.tsx'
import { bytesText } from '../../parts/content-blocks.ts'
import { CopyId } from '../../parts/copy-id.tsx'
import { Listing } from '../../parts/listing.tsx'
import { Ago } from '../../parts/moments.tsx'
import { Foreign } from '../../parts/text.tsx'
import { t } from '../../texts/texts.tsx'

const fileRow = graphql(`
  fragment FileRow on File {
    id
    filename
    contentType
    size
    status
    createdAt
    downloadUrl
  }
`)
const filesQuery = list('files', fileRow)

const deleteMutation = command('deleteFile')

export function Files() {
  const pages = usePages(filesQuery, {}, ['FILE_CREATED', 'FILE_UPLOADED', 'FILE_DELETED'])
  return (
    <Listing
      pages={pages}
      label={t('Files')}
      columns={[t('Name'), t('Type'), t('Size'), t('Uploaded'), t('Id'), '']}
      empty={{ title: t('No files'), text: t('Attachments of messages and calls appear here.') }}
      renderRow={(file) => (
        <tr key={file.id}>
          <td>
            {file.downloadUrl ? (
              <a href={file.downloadUrl} rel="noreferrer" download>
                <Foreign text={file.filename} max={100} />
              </a>
            ) : (
              <Foreign text={file.filename} max={100} />
            )}
          </td>
          <td>
            <Foreign text={file.contentType} max={60} />
          </td>
          <td>
            {file.size === null ? <span className="mute">{t('no bytes yet')}</span> : bytesText(file.size)}
          </td>
          <td>
            <Ago at={file.createdAt} />
          </td>
          <td>
            <CopyId id={file.id} />
          </td>
          <td className="actions">
            <ConfirmAction
              needs="files:Delete"
              word={t('Delete')}
              question={t('Delete {name}?', { name: file.filename })}
              mutation={deleteMutation}
              variables={{ input: { fileId: file.id } }}
              done={t('{name} is deleted.', { name: file.filename })}
              onEnd={pages.reload}
            >
              <p>{t('Its links stop working, and models that refer to it are told that it was deleted.')}</p>
            </ConfirmAction>
          </td>
        </tr>
      )}
    />
  )
}
