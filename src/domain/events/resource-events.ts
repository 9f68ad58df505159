/** Events of secrets, model providers and files. They name what changed, and never have a value. */
import { kindsOf, ofRequester, projectOnly } from './define.ts'

type Named = { name: string }
type FileFacts = { fileId: string; name: string }

export interface ResourceEvents {
  PROVIDER_SET: Named
  PROVIDER_DELETED: Named
  /** The file was announced; its bytes may follow. */
  FILE_CREATED: FileFacts
  FILE_UPLOADED: FileFacts
  FILE_DELETED: FileFacts
}

const kind = kindsOf<ResourceEvents>()

export const providerSet = kind('PROVIDER_SET', projectOnly)
export const providerDeleted = kind('PROVIDER_DELETED', projectOnly)
export const fileCreated = kind('FILE_CREATED', ofRequester)
export const fileUploaded = kind('FILE_UPLOADED', ofRequester)
export const fileDeleted = kind('FILE_DELETED', ofRequester)
