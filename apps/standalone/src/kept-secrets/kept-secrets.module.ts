import { type DynamicModule, Module } from '@nestjs/common';
import type { DataFolder } from '../data-folder.js';
import { KeptSecretsController } from './kept-secrets.controller.js';
import { KeptSecretsService } from './kept-secrets.service.js';

/** The secret that is kept in the data folder, for operators who replace it. */
@Module({})
export class KeptSecretsModule {
  /** @param isGiven whether the environment gives the secret, so that none is kept */
  static forRoot(folder: DataFolder, isGiven: boolean): DynamicModule {
    return {
      module: KeptSecretsModule,
      controllers: [KeptSecretsController],
      providers: [{ provide: KeptSecretsService, useValue: new KeptSecretsService(folder, isGiven) }],
    };
  }
}
