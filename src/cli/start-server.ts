/**
 * Start: the gateway as a command starts it. What the machine refuses (a folder that is none, a disk that is full or
 * read-only, a file that is no database) is a sentence here; everything else that is thrown is a mistake of ours.
 */
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { OwnerTokenUnusable } from '../guard/owner-token-store.ts'
import { startGateway } from '../main.ts'
import type { Gateway, GatewayOptions } from '../main.ts'
import type { StartFault } from '../main/start-fault.ts'
import { explainDataTrouble } from './data-trouble.ts'
import { EXIT } from './print.ts'
import type { ExitCode } from './print.ts'

export async function startOrExplain(options: GatewayOptions): Promise<Result<Gateway, StartFault>> {
  try {
    return await startGateway(options)
  } catch (error) {
    const message = error instanceof OwnerTokenUnusable ? error.message : explainDataTrouble(error, options.dataRoot)
    if (message === undefined) throw error
    return fail({ kind: 'refused', message })
  }
}

export function explainFailedStart({ kind }: StartFault): ExitCode {
  // Not a wrong setting: whoever runs has what was asked for.
  if (kind === 'running-already') return EXIT.unreachable
  return kind === 'misconfigured' ? EXIT.usage : EXIT.integrity
}
