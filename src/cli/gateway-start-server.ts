/**
 * Gateway start: starts the gateway for a command. Errors of the machine (a folder that is not one, a disk that is full
 * or read-only, a file that is not a database) become sentences; anything else that is thrown is a bug.
 */
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { OwnerTokenUnusableError } from '../guard/owner-token-store.ts'
import { startGateway } from '../main.ts'
import type { Gateway, GatewayOptions } from '../main.ts'
import type { StartFault } from '../main/start-fault.ts'
import { explainDataDirectoryTrouble } from '../main/data-directory-trouble.ts'
import { EXIT_CODES } from './command-output.ts'
import type { ExitCode } from './command-output.ts'

export async function tryStartGateway(options: GatewayOptions): Promise<Result<Gateway, StartFault>> {
  try {
    return await startGateway(options)
  } catch (error) {
    const message =
      error instanceof OwnerTokenUnusableError ? error.message : explainDataDirectoryTrouble(error, options.dataRoot)
    if (message === undefined) throw error
    return fail({ kind: 'refused', message })
  }
}

export function selectStartFaultExitCode({ kind }: StartFault): ExitCode {
  // This is not a wrong setting: a gateway runs already, as the user wanted.
  if (kind === 'running-already') return EXIT_CODES.unreachable
  return kind === 'misconfigured' ? EXIT_CODES.usage : EXIT_CODES.integrity
}
